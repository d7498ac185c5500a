// Package socket carries frames over WebSockets, for every dialect that is spoken on one. It knows nothing of what is said.
//
//	sockets := socket.New(socket.Options{})
//	router.GET("/echo", func(c *gin.Context) {
//		sockets.Serve(c.Writer, c.Request, func(ctx context.Context, conn *socket.Conn) {
//			for frame, err := conn.Receive(ctx); err == nil; frame, err = conn.Receive(ctx) {
//				if conn.Send(ctx, frame) != nil {
//					return
//				}
//			}
//		})
//	})
//
// JSON-RPC is spoken through [Conn.Frames].
//
// # Sending
//
// [Conn.Send] waits for one of a few credits, hands the frame over, and gets its credit back when the frame was written. So a
// slow client slows down who sends to it, alone; nothing is queued for it, and nothing dropped. A client to which a
// frame cannot be written in time is cut off.
//
// [Conn.SendAll] is for a connection on which one goroutine sends all there is, and whose client says nothing: it writes many frames
// at once, itself. A thousand such connections to one record cost about what their bytes do.
//
// # Receiving
//
// A frame is handed to [Conn.Receive] by the goroutine that reads the connection; there is no queue. So a client that says more
// than is received is not read any more, and TCP holds it up. Nothing else is read then either, neither its pongs, which do not count as
// missing, nor its close: who only sends calls [Conn.Discard] on another goroutine.
//
// # Ends
//
// The connection lives as long as the function given to [Server.Serve], and closes with 1000 when it returns, with 1011 when it
// panics. [Conn.Close] closes it with another code. In any case what was sent goes out first, then the close frame; then the
// client has [Options.Linger] for its own, while what it still says is read and thrown away: a connection that is cut
// with something unread in it takes with it what the client has not read yet.
//
// A client that closes with 1000, 1001 or without a code has nothing more to say, but it hears on: [Conn.Receive] returns [io.EOF], and
// its close is answered when the function has returned, but at most [Options.Linger] later. So a request with a close
// right behind it gets its response. (Browsers do not deliver that; other clients do.)
//
// The context of the function ends when nothing can be sent any more.
//
// # Security
//
// Host, Origin, Sec-Fetch-Site and the token are checked by the guard of the server, before all routes. Beneath it, an upgrade whose
// Origin names another host than Host is refused here as well; what the guard lets in always passes.
//
// # What melody does not do
//
// The carrier is melody (v1.4.0), and these are its traps:
//
//   - Its Write returns nil and drops the frame when its buffer is full. There are fewer credits than places in it.
//   - Its Broadcast, which drops as well, and overtakes what is replayed to a new connection, is not used.
//   - Its Close cuts the connection right behind the close frame. Ours sends the frame past melody, which gorilla allows at
//     any time, and lets melody read on.
//   - It gives up a client whose pong it does not see in time, also while a message is on its way that takes longer than
//     that, or while the handler of a message waits. Here each read has its own deadline, and any byte is a sign of life.
//   - Behind a message that is too long, the close frame (1009) is lost with all that the client was still sending; it is
//     read to its end first.
//   - Text that is no UTF-8 passes; here it is refused with 1007.
//   - A panic in a function of ours would end the process, since it cannot run on the goroutine that reads.
package socket
