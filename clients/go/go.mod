module penstock.example/client

go 1.19
