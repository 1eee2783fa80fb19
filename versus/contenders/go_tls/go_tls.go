// SPDX-License-Identifier: BSD-3-Clause

// An echo server over TLS with Go's crypto/tls: one goroutine and one buffer per connection, on --threads processors.
// Go chooses the cipher itself: AES-128-GCM if the processor has AES instructions and the client prefers AES. It sends
// one session ticket per handshake.
package main

import (
	"crypto/tls"
	"flag"
	"fmt"
	"io"
	"net"
	"os"
	"os/signal"
	"runtime"
	"syscall"
	"time"
)

const (
	bufferBytes = 20 * 1024
	retry       = 100 * time.Millisecond
)

func usage() {
	fmt.Fprintf(os.Stderr, "usage: go_tls --listen IPV4:PORT [--threads N] --tls-cert FILE --tls-key FILE\n"+
		"Serves until SIGTERM. Port 0 picks a free port. The address is printed when the server listens.\n")
	os.Exit(2)
}

func fail(err error) {
	fmt.Fprintln(os.Stderr, "go_tls:", err)
	os.Exit(1)
}

func echo(stream net.Conn) {
	defer stream.Close()
	buffer := make([]byte, bufferBytes)
	for {
		got, err := stream.Read(buffer)
		if got > 0 {
			if _, err := stream.Write(buffer[:got]); err != nil {
				return
			}
		}
		if err != nil {
			return
		}
	}
}

func main() {
	flags := flag.NewFlagSet("go_tls", flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	address := flags.String("listen", "", "")
	threads := flags.Int("threads", 1, "")
	certificate := flags.String("tls-cert", "", "")
	key := flags.String("tls-key", "", "")
	if flags.Parse(os.Args[1:]) != nil || flags.NArg() > 0 || *threads < 1 || *certificate == "" || *key == "" {
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
	pair, err := tls.LoadX509KeyPair(*certificate, *key)
	if err != nil {
		fail(err)
	}
	plain, err := net.Listen("tcp4", *address)
	if err != nil {
		fail(err)
	}
	listener := tls.NewListener(plain, &tls.Config{
		Certificates:     []tls.Certificate{pair},
		CurvePreferences: []tls.CurveID{tls.X25519, tls.CurveP256, tls.CurveP384},
	})
	fmt.Printf("listening on %s\n", listener.Addr())
	for {
		stream, err := listener.Accept()
		if err != nil {
			time.Sleep(retry) // no fd is free
			continue
		}
		go echo(stream)
	}
}
