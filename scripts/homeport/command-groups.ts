import type { DefineCommandGroup } from "./command";

type CommandGroup = { summary: string; load: () => Promise<DefineCommandGroup> };

/** The groups of `homeport`, in the order of its help. Only the group that a command line names is loaded. */
export const COMMAND_GROUPS: Readonly<Record<string, CommandGroup>> = {
  release: {
    summary: "releases: publish, roll out, withdraw and verify them",
    load: async () => (await import("./commands/release")).defineRelease,
  },
  accounts: {
    summary: "accounts: find, show and change them",
    load: async () => (await import("./commands/accounts")).defineAccounts,
  },
  search: {
    summary: "find what an id, an email or a name belongs to",
    load: async () => (await import("./commands/search")).defineSearch,
  },
  "first-operator": {
    summary: "print the link that makes you the first admin",
    load: async () => (await import("./commands/first-operator")).defineFirstOperator,
  },
  billing: {
    summary: "the billing inbox: list, show, replay, reconcile, assign and prune; grants",
    load: async () => (await import("./commands/billing")).defineBilling,
  },
  keys: {
    summary: "API keys: create, list and revoke them",
    load: async () => (await import("./commands/keys")).defineKeys,
  },
  publishers: {
    summary: "publishers: CI workflows that publish without an API key",
    load: async () => (await import("./commands/publishers")).definePublishers,
  },
  push: {
    summary: "notifications: send, announce, list, cancel and retry them",
    load: async () => (await import("./commands/push")).definePush,
  },
  mail: {
    summary: "the mail queue: list, retry and remove emails",
    load: async () => (await import("./commands/mail")).defineMail,
  },
  webhooks: {
    summary: "webhooks: manage endpoints and deliveries",
    load: async () => (await import("./commands/webhooks")).defineWebhooks,
  },
  audit: {
    summary: "the audit trail: list what operators and accounts did",
    load: async () => (await import("./commands/audit")).defineAudit,
  },
  db: {
    summary: "the database: migrate it, or move it to another one",
    load: async () => (await import("./commands/db")).defineDb,
  },
  backup: {
    summary: "backups: make one and verify it",
    load: async () => (await import("./commands/backup")).defineBackup,
  },
  restore: {
    summary: "restore a backup into an empty database",
    load: async () => (await import("./commands/backup")).defineRestore,
  },
  export: {
    summary: "export everything to a folder of NDJSON files",
    load: async () => (await import("./commands/export")).defineExport,
  },
  import: {
    summary: "import such a folder into a new service",
    load: async () => (await import("./commands/export")).defineImport,
  },
  manual: {
    summary: "print the manual page, for man",
    load: async () => (await import("./commands/manual")).defineManual,
  },
  completion: {
    summary: "completion of commands and options in bash and zsh",
    load: async () => (await import("./commands/completion")).defineCompletion,
  },
};
