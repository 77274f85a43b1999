#!/usr/bin/env bash
# Builds the documentation of this commit, commits it to the branch gh-pages beside the versions so far, and leaves that
# branch as build/gh-pages.bundle and its files in build/pages. A tag v1.2.3 is the version 1.2, which its last patch
# replaces; it is `latest` if no tag is newer. Every other commit is `dev`. Run `make docs` first.
set -euo pipefail

export PATH=$PWD/.venv/docs/bin:$PATH NO_MKDOCS_2_WARNING=1
git config user.name "github-actions[bot]"
git config user.email "41898282+github-actions[bot]@users.noreply.github.com"

if [ "$GITHUB_REF_TYPE" = tag ]; then
  if ! [[ $GITHUB_REF_NAME =~ ^v([0-9]+\.[0-9]+)\.[0-9]+$ ]]; then
    echo "::error::The tag must be v and three numbers, such as v1.2.0."
    exit 2
  fi
  minor=${BASH_REMATCH[1]}
  newest=$(git tag --list | grep -E '^v[0-9]+\.[0-9]+\.[0-9]+$' | sort --version-sort | tail -n 1)
  if [ "$newest" = "$GITHUB_REF_NAME" ]; then
    mike deploy --title "${GITHUB_REF_NAME#v}" --update-aliases "$minor" latest
    mike set-default latest
  else
    mike deploy --title "${GITHUB_REF_NAME#v}" "$minor"
  fi
else
  mike deploy dev
  git cat-file -e gh-pages:index.html 2>/dev/null || mike set-default dev  # until there is a release
fi

rm -rf build/pages
mkdir -p build/pages
git archive gh-pages | tar -x -C build/pages
git bundle create --quiet build/gh-pages.bundle gh-pages
