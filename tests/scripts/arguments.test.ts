import { CommanderError } from "commander";
import { beforeEach, expect, test, vi } from "vitest";
import { UsageError } from "@/scripts/command-line";
import { HomeportCommand } from "@/scripts/homeport/command";
import { COMMAND_GROUPS } from "@/scripts/homeport/command-groups";

const UNKNOWN_ID = "019aa5f0-7c1e-7b60-9d2f-3a1f0c5e8b11";
const NAMES = Object.keys(COMMAND_GROUPS);

beforeEach(() => {
  vi.stubEnv("DATA_DIR", "/proc/none"); // a folder that cannot be written
  return () => vi.unstubAllEnvs();
});

/** `homeport` with the commands of one group. */
async function programOf(name: string): Promise<HomeportCommand> {
  const program = new HomeportCommand("homeport").enablePositionalOptions();
  (await COMMAND_GROUPS[name]?.load())?.(program.command(name));
  return program;
}

/** The reason for which a command refuses its arguments, which ends the process with exit code 2. */
async function refusalOf(name: string, args: string[]): Promise<string> {
  const program = await programOf(name);
  const error: unknown = await program.parseAsync([name, ...args], { from: "user" }).catch((thrown: unknown) => thrown);
  expect([UsageError, CommanderError]).toContain((error as Error).constructor);
  return (error as Error).message;
}

test.each(NAMES)("homeport %s has a usage", async (name) => {
  const [group] = (await programOf(name)).commands;
  expect(group?.helpInformation()).toContain(`Usage: homeport ${name} `);
});

test.each(NAMES)("homeport %s refuses an unknown option", async (name) => {
  expect(await refusalOf(name, ["--no-such-option"])).toContain("--no-such-option");
});

test.each([
  ["accounts list --role root", "--role: "],
  ["accounts grant ann@example.com root", "Unknown role: root. Use user, support, admin."],
  ["accounts import", "missing required argument 'file'"],
  ["accounts import users.json --from okta", "--from: Must be one of firebase, auth0, clerk, supabase, csv"],
  ["accounts import users.csv --from csv --columns mail=Email", "--columns: mail is not one of email, emailVerified"],
  ["accounts import users.csv --from csv --columns email", "--columns: email names no column"],
  ["accounts import users.csv --columns email=Email", "--columns is for --from csv"],
  ["accounts import users.csv --from csv --hash-config nowhere", "--hash-config: nowhere cannot be read"],
  ["accounts import users.csv --on-conflict merge", "--on-conflict: "],
  ["accounts why", "missing required argument 'account'"],
  [`accounts why ann@example.com ${"x".repeat(256)}`, "ENTITLEMENT: "],
  ["accounts unlink ann@example.com", "missing required argument 'provider'"],
  ["accounts unlink ann@example.com gogle", "Unknown provider: gogle. Use google, apple, github."],
  ["audit list --from yesterday", "--from: Must be a date or a time"],
  ["audit list --csv --json", "--csv cannot be combined with --json"],
  ["billing show", "missing required argument"],
  ["billing list --nonsense", "nonsense"],
  ["billing list --limit many", "--limit: Must be an integer from 1"],
  ["billing list --failed --ignored", "--failed and --ignored are mutually exclusive"],
  ["billing import", "--from: Must be one of revenuecat"],
  ["billing import --from stripe --match name", "--match: Must be one of id, email"],
  ["billing import --from revenuecat --match email", "revenuecat knows no emails"],
  ["billing import --from csv", "--from csv takes a file"],
  ["billing import --from app-store", "--from app-store takes a file"],
  ["billing import --from paddle ids.txt", "--from paddle takes no file"],
  ["billing grant ann@example.com pro --days 3", "required option '--reason <text>' not specified"],
  ["billing grant ann@example.com pro --reason x", "either --until TIME, --days N or --lifetime"],
  ["billing grant ann@example.com pro --days 3 --lifetime --reason x", "either --until TIME, --days N or --lifetime"],
  ["billing grant ann@example.com --days 3 --reason x", "ACCOUNT ENTITLEMENT, or ENTITLEMENT --file FILE"],
  ["billing grant ann@example.com pro --days 3 --reason x --file x.csv", "ENTITLEMENT --file FILE"],
  ["billing grant ann@example.com pro --days 3 --reason x --dry-run", "--dry-run goes with --file"],
  ["billing grant ann@example.com pro --days many --reason x", "--days: "],
  ["billing end-grant pro", "takes the id of a grant"],
  ["billing reconcile --account nobody", "--account takes an account's id"],
  ["keys create", "missing required argument 'name'"],
  ["keys create CI", "--scope: "],
  ["keys create CI --scope root", "--scope: "],
  ["keys create CI --scope releases:write --product Core", "--product: Must be a lower-case name"],
  ["keys create CI --scope audit:read --network example.com", "--network: Must be a network"],
  ["keys create CI --scope audit:read --expires soon", "--expires: "],
  ["keys revoke CI", "revoke takes the ids of keys"],
  ["keys list CI", "too many arguments"],
  ["search", "missing required argument 'text'"],
  ["publishers add bitbucket acme/app --product core", "TYPE: "],
  ["publishers add github --workflow release.yml --product core", "REPOSITORY: "],
  ["publishers add github acme/app --workflow sub/release.yml --product core", "--workflow: Must be a file"],
  ["publishers add gitlab acme/app --product core --ref v*", "--ref: Must begin with refs/heads/ or refs/tags/"],
  ["publishers add oidc --issuer http://ci.example.com --claim sub=a --product core", "--issuer: Must be an https URL"],
  ["publishers add oidc --issuer https://ci.example.com --claim sub --product core", "--claim: Must be NAME=VALUE"],
  ["publishers add oidc --issuer https://gitlab.com --claim sub=a --product core", "--issuer: Add a publisher of"],
  ["publishers remove acme/app", "ID: Must be the id of a publisher"],
  ["mail list --state lost", "--state: "],
  ["mail retry 1", "ID: Must be a UUID"],
  ["mail remove", "missing required argument 'id'"],
  ["release add a.exe --product core --platform windows --arch x64 --version 1.0.0 --manifest-key MC4C", "public key"],
  ["release import example/app", "import requires --product"],
  ["release import example/app --product core", "--from github OWNER/REPO"],
  ["release import file:///etc/passwd --product core", "takes the http or https URL of a feed"],
  ["release import --from gitlab example/app --product core", "--from must be github"],
  ["release import --from github example --product core", "takes a repository: OWNER/REPO"],
  ["release import https://example.com/latest.yml --product core --newest all", "--newest must be an integer"],
  ["push send --title A", "send needs --title and --body, and --account"],
  ["push send --account a@example.com --device 1 --title A --body B", "--account, --device or an audience"],
  ["push send --all --platform ios --title A --body B", "--all cannot be combined with other device options"],
  ["push send --platform android --title A --body B", "--platform: "],
  [
    "push send --account a@example.com --title A --body B --send-at tomorrow",
    "--send-at: Must be a time such as 2027-01-31T06:00:00Z",
  ],
  ["push announce", "announce needs --version"],
  ["push announce --version 1 --per-second 0", "--per-second: Must be an integer from 1"],
  ["push announce --version not-a-version", "--version: Must be a version"],
  ["push announce --version v2.1.0", "--version: Must be a version"],
  ["push announce --version 2.1.0 --app-from=", "--app-from"],
  ["push send --platform ios --seen-before= --title A --body B", "--seen-before"],
  ["push list --state lost", "--state: "],
  ["push list --message 1", "--message: Must be a UUID"],
  ["push cancel 1", "cancel takes the id of a message"],
  ["push retry --id 1", "--id: Must be a UUID"],
  ["push retry --all", "unknown option '--all'"],
  ["push pauses --end everywhere", "--end: "],
  ["release policy", "missing required argument 'product'"],
  ["release policy core --require magic", "--require: Must be one of signature, publisher, attestation"],
  ["release policy core --require none --require publisher", "--require none stands alone"],
  ["release policy core --approvals many", "--approvals must be a number"],
  ["release policy core --approvals 11", "--approvals: "],
  ["release approve 1.0.0 --catalog catalog.json", "approve takes no --catalog"],
  ["webhooks create http://127.0.0.1/hooks", "--type: Must have at least one type"],
  ["webhooks show CRM", "ENDPOINT: Must be the id of an endpoint"],
  [`webhooks retry ${UNKNOWN_ID} 1`, "EVENT: Must be the id of an event"],
  [`webhooks edit ${UNKNOWN_ID}`, "edit takes --url, --type or --description"],
  [`webhooks replay ${UNKNOWN_ID} --since yesterday`, "--since: "],
  [`webhooks replay ${UNKNOWN_ID} --since 2026-01-01 --all`, "--since: "],
])("homeport %s is refused with the reason", async (line, reason) => {
  const [name = "", ...args] = line.split(" ");
  expect(await refusalOf(name, args)).toContain(reason);
});
