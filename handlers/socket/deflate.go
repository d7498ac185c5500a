package socket

import (
	"bytes"
	"net/http"
	"strings"

	"github.com/copilot-portal/portal/handlers/wire"
)

// minDeflated is the size in bytes above which frames that are not shared are compressed.
const minDeflated = 1 << 10

// extension is how frames are compressed (RFC 7692), as it was agreed on with a client.
type extension struct {
	compresses bool
	forgets    bool   // the client wants each frame to be compressed without what came before
	answer     string // the header of the response
}

// agree returns what is agreed on with a client that offers extensions; see [Options.Compress]. Frames of clients are never
// compressed with context, so a connection needs no memory for it.
func agree(r *http.Request) extension {
	for _, line := range r.Header.Values("Sec-WebSocket-Extensions") {
		for offer := range strings.SplitSeq(line, ",") {
			if e := agreeOn(offer); e.compresses {
				return e
			}
		}
	}
	return extension{}
}

// agreeOn accepts an offer unless it limits the window of frames to clients, or has parameters that RFC 7692 does not know.
func agreeOn(offer string) extension {
	name, parameters, _ := strings.Cut(offer, ";")
	if strings.TrimSpace(name) != "permessage-deflate" {
		return extension{}
	}
	e := extension{compresses: true, answer: "permessage-deflate; client_no_context_takeover"}
	for parameter := range strings.SplitSeq(parameters, ";") {
		key, _, _ := strings.Cut(parameter, "=")
		switch strings.TrimSpace(key) {
		case "server_no_context_takeover":
			e.forgets = true
		case "client_no_context_takeover", "client_max_window_bits", "":
		default:
			return extension{}
		}
	}
	if e.forgets {
		e.answer += "; server_no_context_takeover"
	}
	return e
}

// Share says that many connections send a frame, which is this slice for all of them and does not change any more. It is
// compressed once for all clients that take it so.
func (s *Server) Share(frame []byte) {
	if s.options.Compress {
		s.shared.Share(frame)
	}
}

// pack returns the compressed form of a frame, without the end that all have; nil if the frame is sent as it is. Only shared
// frames refer to the one before; see decision 330.
func (c *Conn) pack(frame []byte) []byte {
	if !c.extension.compresses {
		return nil
	}
	context := frame
	packed := c.server.shared.After(c.context, frame)
	if packed == nil {
		if len(frame) <= minDeflated {
			return nil
		}
		context, packed = nil, wire.Deflate(nil, frame)
	}
	if c.extension.forgets {
		context = nil
	}
	packed = bytes.TrimSuffix(packed, []byte{0, 0, 0xff, 0xff})
	if context == nil && len(packed) >= len(frame) {
		return nil
	}
	c.context = context
	return packed
}
