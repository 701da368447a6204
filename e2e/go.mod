module github.com/kopiur/kopiur/e2e

go 1.26.0

// The contract lives beside us. Dropped in release commits only; go away when apis moves to a repository of its own.
replace github.com/kopiur/kopiur/apis => ../apis

require github.com/kopiur/kopiur/apis v0.1.0
