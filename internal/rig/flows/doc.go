// Package flows has workflows for tests of the rules and of the language, and an expression compiler
// whose texts are names of functions.
package flows
