// SPDX-License-Identifier: BSD-3-Clause

//! An HTTP server on hyper and tokio. Each thread has a single-threaded runtime and a listener on the shared port, as
//! fast servers on hyper do. Header names get the same capital letters as elsewhere. hyper keeps its own order of
//! headers and caches the Date, but the number of bytes is that of all contenders. pipeline_flush stays off: with it,
//! an answer would wait while half of the next request has arrived. With a certificate it speaks TLS with rustls, with
//! one session ticket. The cryptography then is ring's, not OpenSSL's.

use std::convert::Infallible;
use std::net::{SocketAddr, SocketAddrV4};
use std::process::exit;
use std::sync::Arc;
use std::time::Duration;

use http_body_util::Full;
use hyper::body::{Bytes, Incoming};
use hyper::header::{HeaderValue, ALLOW, CONNECTION, CONTENT_LENGTH, CONTENT_TYPE, SERVER};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use tokio::net::{TcpListener, TcpSocket};
use tokio::signal::unix::{signal, SignalKind};
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::TlsAcceptor;

const BODY: &[u8] = b"Hello, World!";
const BACKLOG: u32 = 4096;
const MAX_HEADER_BYTES: usize = 8192;
const RETRY: Duration = Duration::from_millis(100);

fn asks_to_close(request: &Request<Incoming>) -> bool {
    request
        .headers()
        .get(CONNECTION)
        .is_some_and(|value| value.as_bytes().eq_ignore_ascii_case(b"close"))
}

async fn answer(request: Request<Incoming>) -> Result<Response<Full<Bytes>>, Infallible> {
    let mut response = Response::new(Full::new(Bytes::from_static(BODY)));
    if request.method() != Method::GET && request.method() != Method::HEAD {
        *response.status_mut() = StatusCode::METHOD_NOT_ALLOWED;
        response
            .headers_mut()
            .insert(ALLOW, HeaderValue::from_static("GET, HEAD"));
    } else if !matches!(request.uri().path(), "/" | "/collect") {
        *response.status_mut() = StatusCode::NOT_FOUND;
    }
    let connection = if asks_to_close(&request) { "close" } else { "keep-alive" };
    let headers = response.headers_mut();
    headers.insert(SERVER, HeaderValue::from_static("bench"));
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("text/plain"));
    headers.insert(CONTENT_LENGTH, HeaderValue::from_static("13"));
    headers.insert(CONNECTION, HeaderValue::from_static(connection));
    Ok(response)
}

async fn serve_stream<Stream>(stream: Stream)
where
    Stream: tokio::io::AsyncRead + tokio::io::AsyncWrite + Unpin + 'static,
{
    let mut server = http1::Builder::new();
    server
        .title_case_headers(true)
        .max_buf_size(MAX_HEADER_BYTES);
    let _ = server.serve_connection(TokioIo::new(stream), service_fn(answer)).await;
}

fn tls_from(certificate: &str, key: &str) -> TlsAcceptor {
    fn read<Value, Error: std::fmt::Display>(path: &str, found: Result<Value, Error>) -> Value {
        found.unwrap_or_else(|error| {
            eprintln!("http_hyper: {path}: {error}");
            exit(1)
        })
    }
    let chain = read(certificate, CertificateDer::pem_file_iter(certificate))
        .map(|each| read(certificate, each))
        .collect();
    let secret = read(key, PrivateKeyDer::from_pem_file(key));
    let builder = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .expect("versions")
        .with_no_client_auth();
    let mut config = read(certificate, builder.with_single_cert(chain, secret));
    config.send_tls13_tickets = 1;
    config.ticketer = ring::Ticketer::new().expect("tickets");
    TlsAcceptor::from(Arc::new(config))
}

async fn serve(listener: TcpListener, tls: Option<TlsAcceptor>) {
    loop {
        let Ok((stream, _)) = listener.accept().await else {
            std::thread::sleep(RETRY); // no fd is free
            continue;
        };
        let tls = tls.clone();
        tokio::task::spawn_local(async move {
            match tls {
                None => serve_stream(stream).await,
                Some(tls) => {
                    if let Ok(stream) = tls.accept(stream).await {
                        serve_stream(stream).await
                    }
                }
            }
        });
    }
}

fn listen(address: SocketAddr) -> std::io::Result<TcpListener> {
    let socket = TcpSocket::new_v4()?;
    socket.set_reuseaddr(true)?;
    socket.set_reuseport(true)?;
    socket.set_nodelay(true)?; // Linux copies it to every accepted socket
    socket.bind(address)?;
    socket.listen(BACKLOG)
}

fn run(address: SocketAddr, tls: Option<TlsAcceptor>, on_listening: impl FnOnce(SocketAddr)) {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_io()
        .build()
        .expect("a runtime");
    let local = tokio::task::LocalSet::new();
    local.block_on(&runtime, async move {
        let listener = listen(address).unwrap_or_else(|error| {
            eprintln!("http_hyper: {error}");
            exit(1)
        });
        on_listening(listener.local_addr().expect("an address"));
        tokio::task::spawn_local(async {
            let mut interrupts = signal(SignalKind::interrupt()).expect("a signal");
            let mut terminates = signal(SignalKind::terminate()).expect("a signal");
            tokio::task::spawn_local(async move {
                interrupts.recv().await;
                exit(0)
            });
            terminates.recv().await;
            exit(0)
        });
        serve(listener, tls).await
    });
}

fn usage() -> ! {
    eprintln!(
        "usage: http_hyper --listen IPV4:PORT [--threads N] [--tls-cert FILE --tls-key FILE]\n\
         Serves until SIGTERM. Port 0 picks a free port. The address is printed when the server listens."
    );
    exit(2)
}

fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let (mut address, mut threads, mut certificate, mut key) = (None, 1, None, None);
    for pair in words.chunks(2) {
        match pair {
            [name, value] if name == "--listen" => address = value.parse::<SocketAddrV4>().ok(),
            [name, value] if name == "--threads" => threads = value.parse().unwrap_or(0),
            [name, value] if name == "--tls-cert" => certificate = Some(value),
            [name, value] if name == "--tls-key" => key = Some(value),
            _ => usage(),
        }
    }
    let Some(address) = address else { usage() };
    if threads < 1 {
        usage();
    }
    let tls = match (certificate, key) {
        (Some(certificate), Some(key)) => Some(tls_from(certificate, key)),
        (None, None) => None,
        _ => usage(),
    };
    let tls_of_others = tls.clone();
    run(address.into(), tls, move |bound| {
        // With port 0 the first listener chooses the port that the others share.
        for _ in 1..threads {
            let (say, hear) = std::sync::mpsc::channel();
            let tls = tls_of_others.clone();
            std::thread::spawn(move || run(bound, tls, move |_| say.send(()).expect("the first thread")));
            hear.recv().expect("a listener");
        }
        println!("listening on {bound}");
    });
}
