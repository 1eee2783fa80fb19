// SPDX-License-Identifier: BSD-3-Clause

//! hyper on tokio: a single-threaded runtime and a listener on the shared port per thread, as its fast servers do.
//! Header names are made to look like everybody's; hyper keeps its own order and cached Date, the bytes are as many.
//! Its pipeline_flush stays off: with it, an answer waits while half of the next request is there.

use std::convert::Infallible;
use std::net::{SocketAddr, SocketAddrV4};
use std::process::exit;
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

async fn serve(listener: TcpListener) {
    loop {
        let Ok((stream, _)) = listener.accept().await else {
            std::thread::sleep(RETRY); // out of fds
            continue;
        };
        tokio::task::spawn_local(async move {
            let mut server = http1::Builder::new();
            server
                .title_case_headers(true)
                .max_buf_size(MAX_HEADER_BYTES);
            let _ = server.serve_connection(TokioIo::new(stream), service_fn(answer)).await;
        });
    }
}

fn listen(address: SocketAddr) -> std::io::Result<TcpListener> {
    let socket = TcpSocket::new_v4()?;
    socket.set_reuseaddr(true)?;
    socket.set_reuseport(true)?;
    socket.set_nodelay(true)?; // Linux hands it on to every accepted socket
    socket.bind(address)?;
    socket.listen(BACKLOG)
}

fn run(address: SocketAddr, on_listening: impl FnOnce(SocketAddr)) {
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
        serve(listener).await
    });
}

fn usage() -> ! {
    eprintln!(
        "usage: http_hyper --listen IPV4:PORT [--threads N]\n\
         Serves until SIGTERM. Port 0 takes a free one; the address is printed once it listens."
    );
    exit(2)
}

fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let (mut address, mut threads) = (None, 1);
    for pair in words.chunks(2) {
        match pair {
            [name, value] if name == "--listen" => address = value.parse::<SocketAddrV4>().ok(),
            [name, value] if name == "--threads" => threads = value.parse().unwrap_or(0),
            _ => usage(),
        }
    }
    let Some(address) = address else { usage() };
    if threads < 1 {
        usage();
    }
    run(address.into(), move |bound| {
        // With port 0 the first listener chooses the port that the others share.
        for _ in 1..threads {
            let (say, hear) = std::sync::mpsc::channel();
            std::thread::spawn(move || run(bound, move |_| say.send(()).expect("the first thread")));
            hear.recv().expect("a listener");
        }
        println!("listening on {bound}");
    });
}
