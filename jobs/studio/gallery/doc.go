// Package gallery keeps the interfaces that the studio has made, each with its description and all of its versions, changes them
// as people ask, and makes the calls that they may make (spec/studio.md).
package gallery
