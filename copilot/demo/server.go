package demo

import (
	"context"
	"crypto/rand"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"time"
)

// A Server serves the scripted model on loopback. All of its methods may be called at the same time.
type Server struct {
	url    string
	key    string
	http   *http.Server
	cancel context.CancelFunc
	served chan error // closed when the serving goroutine has ended
}

// Start listens on a free port of 127.0.0.1 and serves until Close.
func Start() (*Server, error) {
	// Close ends what is served, whatever the life of a caller's context.
	ctx, cancel := context.WithCancel(context.Background())
	var lc net.ListenConfig
	listener, err := lc.Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		cancel()
		return nil, err
	}
	key := rand.Text()
	s := &Server{
		url: "http://" + listener.Addr().String() + "/v1",
		key: key,
		http: &http.Server{
			Handler:           NewHandler(key),
			ReadHeaderTimeout: 10 * time.Second,
			BaseContext:       func(net.Listener) context.Context { return ctx },
			ErrorLog:          log.New(io.Discard, "", 0),
		},
		cancel: cancel,
		served: make(chan error, 1),
	}
	go func() {
		defer close(s.served)
		if err := s.http.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			s.served <- err
		}
	}()
	return s, nil
}

// URL is the base URL to give to the CLI. It ends in /v1.
func (s *Server) URL() string { return s.url }

// Key is the key that requests must carry as a bearer token. It is different for each server.
func (s *Server) Key() string { return s.key }

// Close ends open answers in the middle and waits for the serving goroutine. It may be called more than once; an
// error tells why serving ended early.
func (s *Server) Close() error {
	s.cancel()
	err := s.http.Close()
	return errors.Join(err, <-s.served)
}
