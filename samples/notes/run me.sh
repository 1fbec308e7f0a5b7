#!/bin/sh
echo "an executable among the notes"
