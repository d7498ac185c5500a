package portaltest

// Cut ends both directions without a word, as the death of a client does. Nothing
// can be received any more.
func (u *UI) Cut() {
	switch on := u.carrier.(type) {
	case *process:
		_ = on.out.Close()
		_ = on.closeIn()
	case *frames:
		_ = on.conn.NetConn().Close()
	}
}
