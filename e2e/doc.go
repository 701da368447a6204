// Package e2e is the root of the e2e module; its code lives in the packages below.
package e2e
