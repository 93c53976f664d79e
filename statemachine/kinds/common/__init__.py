"""What kinds of every API group are made with: spec models, reading, admission, CRDs. Knows no kind."""
