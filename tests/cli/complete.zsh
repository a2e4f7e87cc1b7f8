# The line that zsh makes of WORDS when the tab key is pressed, by a terminal of its own: complete.zsh SCRIPT WORDS
zmodload zsh/zpty
zpty shell zsh -f -i
say() { zpty -w shell "$1" }
say 'PS1= PS2= RPS1='
say 'autoload -Uz compinit && compinit -D -u'
say "source $1"
line=$(mktemp)
say "complete-and-tell() { zle complete-word; print -r -- \"\$BUFFER\" >$line; }"
say 'zle -N complete-and-tell; bindkey "^I" complete-and-tell'
zpty -w -n shell "$2"$'\t'
for i in {1..200}; do [[ -s $line ]] && break; sleep 0.05; done
cat $line
rm -f $line
zpty -d shell
