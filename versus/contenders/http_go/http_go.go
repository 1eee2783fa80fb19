// SPDX-License-Identifier: BSD-3-Clause

// An HTTP server on Go's net/http: one goroutine per connection, on --threads processors. net/http sorts the headers
// and writes its own Date and Content-Length after them. That order cannot be changed, but the number of bytes is that
// of all contenders. It answers one request at a time. With a certificate it speaks TLS with crypto/tls, HTTP/1.1 only.
package main

import (
	"crypto/tls"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/signal"
	"runtime"
	"syscall"
)

const body = "Hello, World!"

var (
	server     = []string{"bench"}
	plain      = []string{"text/plain"}
	keepAlive  = []string{"keep-alive"}
	bodyLength = []string{"13"}
)

func answer(writer http.ResponseWriter, request *http.Request) {
	header := writer.Header()
	header["Server"] = server
	if request.URL.Path != "/" && request.URL.Path != "/collect" {
		http.NotFound(writer, request)
		return
	}
	if request.Method != http.MethodGet && request.Method != http.MethodHead {
		header["Allow"] = []string{"GET, HEAD"}
		http.Error(writer, "not allowed", http.StatusMethodNotAllowed)
		return
	}
	header["Content-Type"] = plain
	header["Content-Length"] = bodyLength
	header["Connection"] = keepAlive // net/http sends "close" instead if the request asks for it
	io.WriteString(writer, body)
}

func usage() {
	fmt.Fprintf(os.Stderr, "usage: http_go --listen IPV4:PORT [--threads N] [--tls-cert FILE --tls-key FILE]\n"+
		"Serves until SIGTERM. Port 0 picks a free port. The address is printed when the server listens.\n")
	os.Exit(2)
}

func fail(err error) {
	fmt.Fprintln(os.Stderr, "http_go:", err)
	os.Exit(1)
}

func main() {
	flags := flag.NewFlagSet("http_go", flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	address := flags.String("listen", "", "")
	threads := flags.Int("threads", 1, "")
	certificate := flags.String("tls-cert", "", "")
	key := flags.String("tls-key", "", "")
	if flags.Parse(os.Args[1:]) != nil || flags.NArg() > 0 || *threads < 1 || (*certificate == "") != (*key == "") {
		usage()
	}
	if _, err := net.ResolveTCPAddr("tcp4", *address); err != nil || *address == "" {
		usage()
	}
	runtime.GOMAXPROCS(*threads)
	ends := make(chan os.Signal, 1)
	signal.Notify(ends, syscall.SIGTERM, syscall.SIGINT)
	go func() {
		<-ends
		os.Exit(0)
	}()
	listener, err := net.Listen("tcp4", *address)
	if err != nil {
		fail(err)
	}
	if *key != "" {
		pair, err := tls.LoadX509KeyPair(*certificate, *key)
		if err != nil {
			fail(err)
		}
		listener = tls.NewListener(listener, &tls.Config{
			Certificates:     []tls.Certificate{pair},
			CurvePreferences: []tls.CurveID{tls.X25519, tls.CurveP256, tls.CurveP384},
		})
	}
	fmt.Printf("listening on %s\n", listener.Addr())
	// net/http adds 4096 to this limit.
	serving := http.Server{Handler: http.HandlerFunc(answer), MaxHeaderBytes: 4096}
	fail(serving.Serve(listener))
}
