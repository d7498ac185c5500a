// Package socket carries frames over WebSockets for every dialect.
//
//	sockets := socket.New(socket.Options{})
//	router.GET("/echo", func(c *gin.Context) {
//		sockets.Serve(c.Writer, c.Request, func(ctx context.Context, conn *socket.Conn) {
//			for frame, err := conn.Receive(ctx); err == nil; frame, err = conn.Receive(ctx) {
//				if conn.Send(frame) != nil {
//					return
//				}
//			}
//		})
//	})
//
// [Conn.Frames] is a carrier of JSON-RPC.
//
// # Sending
//
// [Conn.Send] writes all frames it is given with one system call for about every 64 KiB, and waits while the client is slow.
// Nothing is queued and nothing dropped, so a slow client slows down only its own sender. A client that takes nothing for
// [Options.WriteTimeout] is cut off.
//
// With [Options.Compress], frames are compressed for clients that offer permessage-deflate: those that many connections send
// ([Server.Share]) once for all, as the difference to the shared frame before, and long ones.
//
// # Receiving
//
// The goroutine that reads the connection passes each frame to [Conn.Receive]; there is no queue. If a client sends more than is
// received, its connection is not read any more, and TCP stops it. Then neither its pongs, which do not count as missing, nor its
// close are read.
//
// # Closing
//
// The connection lives as long as the function given to [Server.Serve]. It closes with 1000 when the function returns, and with
// 1011 when it panics; [Conn.Close] closes it with another code. Frames that are being sent go out first, then the close frame.
// The client then has [Options.Linger] for its own close, and what it still sends is read and dropped: a connection that is cut
// while something is unread takes with it what the client has not read yet.
//
// A client that closes with 1000, 1001 or without a code still receives: [Conn.Receive] returns [io.EOF], and the close is
// answered when the function has returned, at most [Options.Linger] later. So a request with a close right behind it gets its
// response. (Browsers do not deliver it; other clients do.)
//
// The context of the function ends when nothing can be sent any more.
//
// # Security
//
// The guard of the server checks Host, Origin, Sec-Fetch-Site and the token before all routes. In addition, an upgrade whose
// Origin names another host than Host is refused here; what the guard accepts always passes.
//
// # Traps of melody
//
// The carrier is melody (v1.4.0):
//
//   - Its Write returns nil and drops the frame when its buffer is full, and its Broadcast drops and reorders. Neither is used:
//     frames are written past melody.
//   - Its Close cuts the connection right behind the close frame. Ours writes the frame past melody, which gorilla allows at any
//     time, and lets melody read on.
//   - It cuts off a client whose pong it does not see in time, even while a long message is on its way or the handler of a
//     message waits. Here each read has its own deadline, and any byte is a sign of life.
//   - Behind a message that is too long, the close frame (1009) would be lost with what the client is still sending; that is read
//     to its end first.
//   - It accepts text that is not UTF-8; here it closes with 1007.
//   - A panic in a handler would end the process, so functions run on goroutines that recover.
package socket
