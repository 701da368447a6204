module github.com/kopiur/kopiur/e2e

go 1.26.0

// The contract lives beside us. Dropped in release commits only; go away when apis moves to a repository of its own.
replace github.com/kopiur/kopiur/apis => ../apis

require (
	github.com/kopiur/kopiur/apis v0.1.0
	github.com/spf13/cobra v1.10.2
)

require (
	github.com/inconshreveable/mousetrap v1.1.0 // indirect
	github.com/spf13/pflag v1.0.9 // indirect
)
