import { Role } from "../../../../lib/accounts/admin/schema";
import { PROVIDER_NAMES } from "../../../../lib/auth/sign-in-providers/providers";
import type { DefineCommandGroup, HomeportCommand } from "../../command";
import { deleteAccount, disable, enable, grant, resetFactors, revokeSessions, unlink } from "./changes";
import { events, exportData, list, show } from "./reads";

const ROLES = Role.options;
const REASON = "the reason, for the audit trail";

/** `homeport accounts`. An account is named by its id or its email. */
export const defineAccounts: DefineCommandGroup = (accounts) => {
  accounts
    .command("list [text]")
    .description("list the newest accounts, or those with this id or whose email or name begins with TEXT")
    .option("--role <role>", `only accounts with this role: ${ROLES.join(", ")}`)
    .option("--state <state>", "only accounts in this state: active, disabled, unverified")
    .option("--limit <count>", "maximum number (default: 50)")
    .run(list);
  accounts
    .command("show <account>")
    .description("show an account with its sessions, devices, purchases and events, as JSON")
    .run(show);
  accounts
    .command("events <account>")
    .description("list what happened to an account, newest first, even after it was deleted")
    .option("--limit <count>", "maximum number (default: 50)")
    .run(events);
  accounts
    .command("export <account>")
    .description("export all data of an account for its owner, as JSON")
    .option("--output <file>", "write a file that only its owner can read")
    .option("--reason <text>", REASON)
    .run(exportData);
  defineChanges(accounts);
  accounts
    .command("rotate-keys")
    .description(
      "encrypt the stored keys with the first secret of NEXTAUTH_SECRET. With the embedded database and without the variable, " +
        "generate a new secret first. Nobody is signed out. A service with the embedded database must be stopped",
    )
    .run(async ({ output }) => (await import("./rotate-keys")).rotateKeys(output));
};

function defineChanges(accounts: HomeportCommand): void {
  const change = (usage: string, description: string) =>
    accounts.command(usage).description(description).option("--reason <text>", REASON);
  change("grant <account> <role>", `give an account a role: ${ROLES.join(", ")}`).run(grant);
  change("disable <account>", "disable an account: it is signed out, and nobody can sign in to it").run(disable);
  change("enable <account>", "enable a disabled account").run(enable);
  change("revoke-sessions <account>", "sign an account out on all devices")
    .option("--session <id>", "end this session only")
    .run(revokeSessions);
  change(
    "unlink <account> <provider>",
    `unlink a sign-in provider (${PROVIDER_NAMES.join(", ")}), and sign the account out`,
  ).run(unlink);
  change(
    "reset-factors <account>",
    "remove the second factors and passkeys of an owner who has lost them, and sign them out",
  ).run(resetFactors);
  change("delete <account>", "delete an account and all its data").option("--yes", "do not ask").run(deleteAccount);
}
