module github.com/kopiur/kopiur/e2e

go 1.26.0

// The contract lives beside us. Dropped in release commits only; go away when apis moves to a repository of its own.
replace github.com/kopiur/kopiur/apis => ../apis

require (
	// The harness's command line.
	github.com/spf13/cobra v1.10.2
	// Assertions in tests.
	github.com/stretchr/testify v1.11.1
)

require (
	github.com/davecgh/go-spew v1.1.2-0.20180830191138-d8f796af33cc // indirect
	github.com/inconshreveable/mousetrap v1.1.0 // indirect
	github.com/pmezard/go-difflib v1.0.1-0.20181226105442-5d4384ee4fb2 // indirect
	github.com/spf13/pflag v1.0.9 // indirect
	gopkg.in/yaml.v3 v3.0.1 // indirect
)
