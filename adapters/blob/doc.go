// Package blob keeps what customers upload, in memory or in a folder.
//
// A file is what its content says, never what its name or its sender says. It
// is looked at while it streams by, a few kilobytes at a time: its type is
// found, its size is counted, and an image is taken apart and put together
// again from the parts that make up the picture. What an image says of where
// and how it was taken, and whatever is hidden between or behind the parts, is
// left out; the picture itself is kept byte for byte, and so is the way it is
// to be turned.
//
// Content that is refused leaves nothing behind. One tenant can be held to a
// share of the space, and a store without room says ErrUnavailable.
package blob
