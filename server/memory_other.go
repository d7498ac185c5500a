//go:build !linux

package server

// releaseProgram does nothing: other systems release pages by themselves when memory gets short.
func releaseProgram() error { return nil }
