// Counts tests and prints failures. Standard library only; outside go.work because nothing imports it.
module github.com/kopiur/kopiur/hack/testsum

go 1.26.0
