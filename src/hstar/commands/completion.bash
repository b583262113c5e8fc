_hstar() {
    local current="${COMP_WORDS[COMP_CWORD]}" previous="${COMP_WORDS[COMP_CWORD-1]}"
    local command="" word words="" key
    local -A table=({table})
    for word in "${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
        key="${command:+$command }$word"
        if [[ "$word" != -* && -n "${table[$key]+set}" ]]; then command="$key"; fi
    done
    if [[ -n "${table["$command $previous"]+set}" ]]; then
        words="${table["$command $previous"]}"
    elif [[ "$previous" != -* || "$current" == -* ]]; then
        words="${table["${command:-hstar}"]}"
    fi
    COMPREPLY=($(compgen -W "$words" -- "$current"))
}
complete -o default -F _hstar hstar
