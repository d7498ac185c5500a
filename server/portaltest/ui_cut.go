package portaltest

// Cut drops the connection in both directions, as a crash of the client does. Nothing more can be received.
func (u *UI) Cut() {
	switch on := u.carrier.(type) {
	case *process:
		_ = on.out.Close()
		_ = on.closeIn()
	case *frames:
		_ = on.conn.NetConn().Close()
	}
}
