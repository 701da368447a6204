// Package mover is the root of the mover module; its code lives in the packages below.
package mover
