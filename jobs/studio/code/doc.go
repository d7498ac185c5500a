// Package code judges and builds the user interfaces that a model writes: one self-contained React component in JSX or TSX,
// which uses a global React, imports and exports nothing, and defines App. Nothing here runs anything.
//
// The scan of Check is a help for honest models: it tells them early what would not work in the frame. It is no wall. Code that
// wants to hide what it does can, as in any language that looks names up at run time. The wall is the frame that the code runs
// in: sandbox="allow-scripts" without the portal's origin, and a strict Content-Security-Policy.
package code
