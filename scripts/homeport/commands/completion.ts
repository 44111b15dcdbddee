import type { DefineCommandGroup } from "../command";
import { bashScript, zshScript } from "../completion/bash-script";

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
