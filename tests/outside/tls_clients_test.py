# SPDX-License-Identifier: BSD-3-Clause
"""Go, Java and Node as clients of the https site and of the relay that ends TLS.

Each client is a small program that the test writes. It fetches a page and a large file on one verified connection,
resumes a session, refuses a server that it does not trust, and half-closes through the relay. It prints a line for each
of these.
"""
import hashlib
import os
import subprocess

import pytest

from programs import PATIENCE_SECONDS, Program, echo_once, joined, tool
from tls_parties import LARGE, https_site, self_signed

# The output of each client. Its arguments are the port of the site, the certificate to trust, another certificate, and
# the port of an echo server.
SEEN = f"""\
1.2 http/1.1 200 {hashlib.sha256(LARGE).hexdigest()} resumed
1.3 http/1.1 200 {hashlib.sha256(LARGE).hexdigest()} resumed
refused
100000 came back after the end
"""

GO = """
package main

import ("bufio"; "crypto/sha256"; "crypto/tls"; "crypto/x509"; "fmt"; "io"; "os"; "strings"; "net/textproto"; "strconv")

func must(err error) { if err != nil { fmt.Println(err); os.Exit(1) } }

func trust(file string) *x509.CertPool {
  pem, err := os.ReadFile(file)
  must(err)
  pool := x509.NewCertPool()
  pool.AppendCertsFromPEM(pem)
  return pool
}

func get(in *bufio.Reader, to *tls.Conn, path string) (string, []byte) {
  fmt.Fprintf(to, "GET %s HTTP/1.1\\r\\nHost: localhost\\r\\n\\r\\n", path)
  lines := textproto.NewReader(in)
  status, err := lines.ReadLine()
  must(err)
  fields, err := lines.ReadMIMEHeader()
  must(err)
  size, err := strconv.Atoi(fields.Get("Content-Length"))
  must(err)
  body := make([]byte, size)
  _, err = io.ReadFull(in, body)
  must(err)
  return strings.Fields(status)[1], body
}

func main() {
  names := map[uint16]string{tls.VersionTLS12: "1.2", tls.VersionTLS13: "1.3"}
  for _, version := range []uint16{tls.VersionTLS12, tls.VersionTLS13} {
    config := &tls.Config{RootCAs: trust(os.Args[2]), MinVersion: version, MaxVersion: version, ServerName: "localhost",
      NextProtos: []string{"h2", "http/1.1"}, ClientSessionCache: tls.NewLRUClientSessionCache(4)}
    for turn := 0; turn < 2; turn++ {
      to, err := tls.Dial("tcp", "127.0.0.1:" + os.Args[1], config)
      must(err)
      in := bufio.NewReader(to)
      get(in, to, "/page.html")
      status, body := get(in, to, "/large.bin")
      state := to.ConnectionState()
      if turn == 1 {
        how := map[bool]string{true: "resumed", false: "anew"}[state.DidResume]
        fmt.Println(names[state.Version], state.NegotiatedProtocol, status, fmt.Sprintf("%x", sha256.Sum256(body)), how)
      }
      must(to.Close())
    }
  }
  if _, err := tls.Dial("tcp", "127.0.0.1:" + os.Args[1], &tls.Config{RootCAs: trust(os.Args[3])}); err != nil {
    fmt.Println("refused")
  }
  to, err := tls.Dial("tcp", "127.0.0.1:" + os.Args[4], &tls.Config{RootCAs: trust(os.Args[2])})
  must(err)
  to.Write(make([]byte, 100000))
  must(to.CloseWrite())
  back, err := io.ReadAll(to)
  must(err)
  fmt.Println(len(back), "came back after the end")
}
"""

JAVA = """
import java.io.*;
import java.net.*;
import java.net.http.*;
import java.nio.file.*;
import java.security.*;
import java.security.cert.*;
import java.util.*;
import javax.net.ssl.*;

public class Client {
  static SSLContext trust(String file) throws Exception {
    var store = KeyStore.getInstance(KeyStore.getDefaultType());
    store.load(null);
    try (var in = new FileInputStream(file)) {
      store.setCertificateEntry("own", CertificateFactory.getInstance("X.509").generateCertificate(in));
    }
    var managers = TrustManagerFactory.getInstance(TrustManagerFactory.getDefaultAlgorithm());
    managers.init(store);
    var context = SSLContext.getInstance("TLS");
    context.init(null, managers.getTrustManagers(), null);
    return context;
  }

  static HttpClient client(SSLContext context, String version) {
    var parameters = new SSLParameters();
    parameters.setProtocols(new String[] {"TLSv" + version});
    return HttpClient.newBuilder().sslContext(context).sslParameters(parameters).build();
  }

  static HttpResponse<byte[]> get(HttpClient client, String port, String path) throws Exception {
    var request = HttpRequest.newBuilder(URI.create("https://localhost:" + port + path)).build();
    return client.send(request, HttpResponse.BodyHandlers.ofByteArray());
  }

  static byte[] sessionOf(SSLContext context, String port, String version) throws Exception {
    try (var socket = (SSLSocket) context.getSocketFactory().createSocket("localhost", Integer.parseInt(port))) {
      socket.setEnabledProtocols(new String[] {"TLSv" + version});
      var request = "GET /page.html HTTP/1.1\\r\\nHost: a\\r\\nConnection: close\\r\\n\\r\\n";
      socket.getOutputStream().write(request.getBytes());
      socket.getInputStream().readAllBytes();
      return Long.toString(socket.getSession().getCreationTime()).getBytes();
    }
  }

  public static void main(String[] words) throws Exception {
    for (var version : List.of("1.2", "1.3")) {
      var context = trust(words[1]);
      var client = client(context, version);
      get(client, words[0], "/page.html");
      var answer = get(client, words[0], "/large.bin");
      var digest = HexFormat.of().formatHex(MessageDigest.getInstance("SHA-256").digest(answer.body()));
      var same = Arrays.equals(sessionOf(context, words[0], version), sessionOf(context, words[0], version));
      var spoken = answer.version() == HttpClient.Version.HTTP_1_1 ? "http/1.1" : "h2";
      System.out.println(answer.sslSession().get().getProtocol().substring(4) + " " + spoken + " "
          + answer.statusCode() + " " + digest + (same ? " resumed" : " anew"));
    }
    try {
      get(client(trust(words[2]), "1.3"), words[0], "/page.html");
    } catch (SSLHandshakeException refused) {
      System.out.println("refused");
    }
    var socket = (SSLSocket) trust(words[1]).getSocketFactory().createSocket("localhost", Integer.parseInt(words[3]));
    socket.getOutputStream().write(new byte[100000]);
    socket.shutdownOutput();
    System.out.println(socket.getInputStream().readAllBytes().length + " came back after the end");
    socket.close();
  }
}
"""

NODE = """
const crypto = require('crypto'), fs = require('fs'), https = require('https'), tls = require('tls');
const [port, own, other, echo] = process.argv.slice(2);
const ca = fs.readFileSync(own);

function get(agent, path) {
  return new Promise((done, fail) => {
    https.get({host: 'localhost', family: 4, port, path, agent}, (answer) => {
      const {socket} = answer, digest = crypto.createHash('sha256');
      answer.on('data', (piece) => digest.update(piece));
      answer.on('end', () => done({socket, status: answer.statusCode, digest: digest.digest('hex')}));
    }).on('error', fail);
  });
}

async function main() {
  for (const version of ['TLSv1.2', 'TLSv1.3']) {
    const options = {ca, minVersion: version, maxVersion: version, keepAlive: true, maxSockets: 1,
                     ALPNProtocols: ['h2', 'http/1.1']};
    const agent = new https.Agent(options);
    const first = await get(agent, '/page.html'), second = await get(agent, '/large.bin');
    if (first.socket !== second.socket) console.log('not kept');
    const spoken = first.socket.getProtocol().slice(4);
    const closed = new Promise((done) => first.socket.once('close', done));
    first.socket.ref().end();
    await closed;
    const third = await get(agent, '/page.html');
    console.log(spoken, second.socket.alpnProtocol, second.status, second.digest,
                third.socket.isSessionReused() ? 'resumed' : 'anew');
    agent.destroy();
  }
  await get(new https.Agent({ca: fs.readFileSync(other)}), '/').catch(() => console.log('refused'));
  const socket = tls.connect({host: 'localhost', port: echo, ca, allowHalfOpen: true});
  let bytes = 0;
  socket.on('data', (piece) => { bytes += piece.length; });
  socket.on('end', () => console.log(bytes, 'came back after the end'));
  socket.on('error', (error) => console.log(error.message));
  socket.end(Buffer.alloc(100000));
}

main();
"""

# By the name of the tool: a program, its file, the tool's arguments that compile it, and the command that runs it. The
# program is compiled before any server starts: compiling may take minutes on a busy machine, and an echo server waits
# only PATIENCE_SECONDS for its client. Go compiles its standard library, too.
PROGRAMS = {"go": (GO, "client.go", ["build", "-o", "client", "client.go"], ["./client"]),
            "java": (JAVA, "Client.java", ["-m", "jdk.compiler/com.sun.tools.javac.Main", "-d", ".", "Client.java"],
                     ["java", "-cp", ".", "Client"]),
            "node": (NODE, "client.js", [], ["node", "client.js"])}
LIMIT_SECONDS = 4 * PATIENCE_SECONDS  # of a compiler, and of a client


@pytest.mark.parametrize("language", PROGRAMS)
def test_a_client_in(language, tmp_path):
    text, name, compile_words, command = PROGRAMS[language]
    program = tool(language)
    (tmp_path / name).write_text(text, encoding="utf-8")
    other, _ = self_signed(tmp_path, "other")
    environment = os.environ | {"GO111MODULE": "off", "GOTOOLCHAIN": "local", "GOPROXY": "off", "CGO_ENABLED": "0"}
    if compile_words:
        subprocess.run([program, *compile_words], cwd=tmp_path, check=True, timeout=LIMIT_SECONDS, env=environment)
    with https_site(tmp_path) as site, echo_once() as upstream:
        with Program("tls_relay", joined(upstream), site.certificate, site.key, "127.0.0.1:0") as relay:
            done = subprocess.run([*command, str(site.port), site.certificate, other, str(relay.address()[1])],
                                  cwd=tmp_path, capture_output=True, text=True, check=False,
                                  timeout=LIMIT_SECONDS, env=environment)
            assert (done.stdout, done.returncode) == (SEEN, 0), done.stderr
            assert relay.end()[0] == 0
