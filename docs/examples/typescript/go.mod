module example.com/typescript

go 1.26
