import type { Command } from "commander";
import { type DefineCommandGroup, shown } from "../command";
import { WITHOUT_URL } from "../service-folder";

/** What follows the help of `homeport`, and its manual page says, too. */
export const HELP_AFTER = `
With HOMEPORT_URL and HOMEPORT_API_KEY, commands operate the service at that URL; in a CI job that is a publisher, without the
key. ${WITHOUT_URL}
Exit codes: 0 success, 1 failure, 2 invalid arguments. With --json, an error is { "error": { "code", "message" } }.`;

/** `homeport manual`. It needs the commands of all groups, which it reads from its parent. */
export const defineManual: DefineCommandGroup = (manual) => {
  manual.action(() => console.log(manualPage(manual.parent ?? manual)));
};

/** The manual page of `homeport`, homeport(1), made from its commands: roff with the macros of man(7). */
function manualPage(program: Command): string {
  const page = `.TH HOMEPORT 1 "" "Homeport ${escaped(program.version() ?? "")}" "Homeport"
.SH NAME
homeport \\- ${escaped(program.description().replace(/^O/, "o").replace(/\.$/, ""))}
.SH SYNOPSIS
.B homeport
.I GROUP COMMAND
.RI [ ARGUMENTS ]
.br
.B homeport
.I GROUP
.B \\-\\-help
.SH DESCRIPTION
${escaped(HELP_AFTER.trim())}
.SH COMMANDS`;
  const groups = program.commands.map((group) =>
    [`.SS ${escaped(group.name())}`, escaped(group.description()), ...commandsOf(group).map(entryOf)].join("\n"),
  );
  return [page, ...groups].join("\n");
}

/** What runs something: a group without commands itself, such as `homeport backup`, which has one as well. */
function commandsOf(command: Command): Command[] {
  const isRun = command.registeredArguments.length > 0 || command.options.length > 0 || command.commands.length === 0;
  return [...(isRun ? [command] : []), ...command.commands.flatMap(commandsOf)];
}

function entryOf(command: Command): string {
  const names: string[] = [];
  for (let one: Command | null = command; one; one = one.parent) names.unshift(one.name());
  const isGroup = names.length === 2;
  return [
    `.TP\n.B ${escaped([...names, ...command.registeredArguments.map(shown)].join(" "))}`,
    escaped(isGroup && command.commands.length === 0 ? "" : command.description()),
    ".RS",
    ...command.options.map(({ flags, description }) => `.TP\n.B ${escaped(flags)}\n${escaped(description)}`),
    ".RE",
  ]
    .filter((line) => line !== "")
    .join("\n");
}

/** Text without what roff reads as its own: backslashes, requests at the beginning of a line, and typographic hyphens. */
const escaped = (text: string) =>
  text.replaceAll("\\", "\\e").replaceAll("-", "\\-").replace(/^[.']/gm, "\\&$&").replaceAll("`", "\\(ga");
