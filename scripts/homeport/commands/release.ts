import type { DefineCommandGroup } from "../command";
import { add, addFolder, FOLDER_OPTIONS } from "../release/add";
import { ADOPTION_OPTIONS, adoption } from "../release/adoption";
import {
  critical,
  EDIT_OPTIONS,
  edit,
  FLAG_OPTIONS,
  PROMOTE_OPTIONS,
  promote,
  rollback,
  yank,
} from "../release/change";
import { defineReleaseCommand } from "../release/define-release-command";
import { ADD_OPTIONS } from "../release/draft";
import { IMPORT_OPTIONS, importCommand } from "../release/import";
import { MIRROR_OPTIONS, mirror } from "../release/mirror";
import { FILTER_OPTIONS } from "../release/options";
import { approve, definePolicy } from "../release/policy";
import { list, show, URL_OPTIONS, urls, VERIFY_OPTIONS, verify } from "../release/read";
import { PRUNE_OPTIONS, prune, REMOVE_OPTIONS, remove } from "../release/removal";
import { ROLLOUT_OPTIONS, rollout } from "../release/rollout";

const HELP_AFTER = `
A RELEASE is an id or a version. --product P --version V also selects releases; --platform, --arch and --channel narrow it down.
The commands use the API of the service at HOMEPORT_URL, else of the one that runs on this machine; if none does, they make the
change on its database. With --catalog they edit that file instead, for catalogs that are published at a URL.
remove and prune ask before they remove anything.`;

export const defineRelease: DefineCommandGroup = (release) => {
  defineReleaseCommand(release, "add <file>", "publish a file in a new or existing release", ADD_OPTIONS, add);
  const built =
    "publish the output of electron-builder, Tauri, Velopack or Squirrel.Windows, for all platforms at once";
  defineReleaseCommand(release, "add-folder <folder>", built, FOLDER_OPTIONS, addFolder);
  const existing =
    "bring existing releases from GitHub, or from a feed at a URL; nobody is offered them before --publish";
  defineReleaseCommand(release, "import <repository|url>", existing, IMPORT_OPTIONS, importCommand);
  const toSign = "print the URLs of files as they will be served, to write them into an appcast before you sign it";
  defineReleaseCommand(release, "urls [file...]", toSign, URL_OPTIONS, urls);
  defineReleaseCommand(release, "list", "list releases", FILTER_OPTIONS, list);
  const facts = "show releases: who published them, from which commit, and their files";
  defineReleaseCommand(release, "show [release...]", facts, FILTER_OPTIONS, show);
  defineReleaseCommand(release, "edit [release...]", "change fields of a release", EDIT_OPTIONS, edit);
  const toPercent = "roll out a release to a percentage of clients (0 pauses it), or on a schedule";
  defineReleaseCommand(release, "rollout [release...]", `${toPercent}: rollout RELEASE 25`, ROLLOUT_OPTIONS, rollout);
  const sameBuild = "offer the same build on another channel";
  defineReleaseCommand(release, "promote [release...]", sameBuild, PROMOTE_OPTIONS, promote);
  definePolicy(release.command("policy <product>"));
  const second = "approve releases that wait for it, because of their product's policy";
  defineReleaseCommand(release, "approve [release...]", second, FILTER_OPTIONS, approve);
  defineReleaseCommand(release, "yank [release...]", "withdraw a release", FLAG_OPTIONS, yank);
  const back = "also offer a release to clients whose newer version is yanked or paused";
  defineReleaseCommand(release, "rollback [release...]", back, FLAG_OPTIONS, rollback);
  const mandatory = "make a release mandatory for all clients with older versions";
  defineReleaseCommand(release, "critical [release...]", mandatory, FLAG_OPTIONS, critical);
  const withFiles = "remove a release and its files from the catalog";
  defineReleaseCommand(release, "remove [release...]", withFiles, REMOVE_OPTIONS, remove);
  const old = "remove files that belong to no release, and with a limit also old releases that no client needs";
  defineReleaseCommand(release, "prune", old, PRUNE_OPTIONS, prune);
  defineReleaseCommand(release, "verify", "hash the published files again", VERIFY_OPTIONS, verify);
  const copied = "show whether the copy of feeds and files at RELEASE_MIRROR is current";
  defineReleaseCommand(release, "mirror", copied, MIRROR_OPTIONS, mirror);
  const counts = "show how many clients ran and downloaded each version";
  defineReleaseCommand(release, "adoption", counts, ADOPTION_OPTIONS, adoption);
  release.addHelpText("after", HELP_AFTER);
};
