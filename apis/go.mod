module github.com/kopiur/kopiur/apis

go 1.26.0
