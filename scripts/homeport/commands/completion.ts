import type { Command, Option } from "commander";
import type { DefineCommandGroup } from "../command";

const HELP_AFTER = `
For bash:  homeport completion bash > ~/.local/share/bash-completion/completions/homeport
For zsh:   homeport completion zsh > ~/.homeport-completion.zsh, and in ~/.zshrc: source ~/.homeport-completion.zsh
They complete the word homeport. Put it on the PATH: ln -s "$PWD/scripts/bin/homeport.mjs" ~/.local/bin/homeport`;

/** `homeport completion`. It needs the commands of all groups, which it reads from its parent. */
export const defineCompletion: DefineCommandGroup = (completion) => {
  const scripts = { bash: bashScript, zsh: zshScript };
  for (const [shell, write] of Object.entries(scripts)) {
    completion
      .command(shell)
      .description(`print the completion script for ${shell}`)
      .action(() => console.log(write(completion.parent ?? completion)));
  }
  completion.addHelpText("after", HELP_AFTER);
};

/** A command: the names of its commands, its options, and those of them that take a value. */
type Entry = { path: string; commands: string[]; options: string[]; valued: Option[] };

/**
 * A completion of `homeport` for bash, made from its commands. It completes commands, options and the values of options
 * that have a fixed set. For all other words, bash completes file names. A scope has a colon, which bash treats as a
 * word break by default.
 */
function bashScript(program: Command): string {
  const entries = entriesOf(program, "");
  const groups = entries.filter(({ commands }) => commands.length > 0);
  return `# bash completion of homeport
COMP_WORDBREAKS=\${COMP_WORDBREAKS//:}
_homeport_commands() {
  case $1 in
${groups.map(({ path, commands }) => `    '${path}') echo '${commands.join(" ")}' ;;`).join("\n")}
  esac
}
_homeport_options() {
  case $1 in
${entries.map(({ path, options }) => `    '${path}') echo '${options.join(" ")}' ;;`).join("\n")}
  esac
}
_homeport_values() {
  case $1 in
${entries.flatMap(valueCases).join("\n")}
    *) return 1 ;;
  esac
}
_homeport() {
  local current=\${COMP_WORDS[COMP_CWORD]} command='' word words i
  for ((i = 1; i < COMP_CWORD; i++)); do
    word=\${COMP_WORDS[i]}
    words=" $(_homeport_commands "$command") "
    if [[ $words == *" $word "* ]]; then command="$command\${command:+ }$word"; fi
  done
  if words=$(_homeport_values "$command \${COMP_WORDS[COMP_CWORD - 1]}"); then :
  elif [[ $current == -* ]]; then words=$(_homeport_options "$command")
  else words=$(_homeport_commands "$command")
  fi
  COMPREPLY=($(compgen -W "$words" -- "$current"))
}
complete -o bashdefault -o default -F _homeport homeport`;
}

/** The same for zsh, through its emulation of bash's completion. */
function zshScript(program: Command): string {
  return `# zsh completion of homeport
(( $+functions[compdef] )) || { autoload -U +X compinit && compinit }
autoload -U +X bashcompinit && bashcompinit
${bashScript(program)}`;
}

function entriesOf(command: Command, path: string): Entry[] {
  const options = command.createHelp().visibleOptions(command);
  const entry = {
    path,
    commands: command.commands.map((one) => one.name()),
    options: options.flatMap(({ long }) => long ?? []),
    valued: options.filter(({ required }) => required),
  };
  return [entry, ...command.commands.flatMap((one) => entriesOf(one, path ? `${path} ${one.name()}` : one.name()))];
}

/** The cases of a command's options that take a value: one for each with a fixed set, and one for all others. */
function valueCases({ path, valued }: Entry): string[] {
  const pattern = ({ long }: Option) => `'${path} ${long}'`;
  const free = valued.filter(({ argChoices }) => argChoices === undefined);
  const cases = valued.flatMap((option) =>
    option.argChoices ? [`    ${pattern(option)}) echo '${option.argChoices.join(" ")}' ;;`] : [],
  );
  return free.length > 0 ? [...cases, `    ${free.map(pattern).join(" | ")}) ;;`] : cases;
}
