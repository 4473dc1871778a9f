#!/bin/sh
# Says hello, again and again, to whom its environment names.
while :; do
    echo "hello, ${WHO:-world}"
    sleep 1
done
