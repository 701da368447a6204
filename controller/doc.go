// Package controller is the root of the controller module; its code lives in the packages below.
package controller
