import { isKeyActive, listKeys } from "@/lib/auth/api-keys/keys";
import { keyOperations } from "@/lib/auth/api-keys/operations";
import type { ApiKey } from "@/lib/auth/api-keys/schema";
import { PageQuery } from "@/lib/platform/lists";
import { Action } from "../../components/action";
import { Badge, type Tone } from "../../components/badge";
import { PageHead, Section } from "../../components/headings";
import { Pager } from "../../components/pager";
import { ShownSecret } from "../../components/shown-secret";
import { EmptyState } from "../../components/states";
import { type Column, Table } from "../../components/table";
import { Ago } from "../../components/time";
import { consolePage } from "../../frame/console-page";
import { NewKeyFields } from "./new-key-fields";

export const metadata = { title: "API keys" };

const TONES: Record<ApiKey["status"], Tone> = { active: "good", expired: "warning", revoked: "neutral" };

const COLUMNS: Column<ApiKey>[] = [
  { head: "Name", isRowHead: true, cell: ({ name }) => <bdi>{name}</bdi> },
  { head: "Status", cell: ({ status }) => <Badge tone={TONES[status]}>{status}</Badge> },
  { head: "Key", isTight: true, cell: ({ prefix }) => <code>{prefix}…</code> },
  { head: "Scopes", cell: ({ scopes }) => scopes.join(", ") },
  { head: "Networks", cell: ({ networks }) => networks.join(", ") || "All" },
  { head: "Last used", isTight: true, cell: ({ lastUsedAt }) => <Ago at={lastUsedAt} /> },
  { head: "Expires", isTight: true, cell: ({ expiresAt }) => (expiresAt ? <Ago at={expiresAt} /> : "Never") },
  { head: "Actions", align: "end", cell: (key) => key.status !== "revoked" && <Revoke apiKey={key} /> },
];

export default consolePage(
  {
    role: "admin",
    query: PageQuery,
    done: { key_created: "The key was created.", key_revoked: "The key was revoked. Requests with it get 401." },
    ownForms: [keyOperations.createApiKey],
  },
  async ({ ctx, operator, query, flash }) => {
    const { keys, nextCursor } = await listKeys(ctx, query);
    return (
      <>
        <PageHead
          title="API keys"
          lead="Programs call the admin API with a key: CI that publishes releases, or a script of your own."
        />
        <ShownSecret kind="key" title="The new key" isValid={(key) => isKeyActive(ctx, key)} />
        <Section title="Keys">
          <Table
            caption="API keys, the newest first"
            columns={COLUMNS}
            rows={keys}
            rowKey={({ id }) => id}
            empty={<EmptyState title="There are no keys yet">Create the first one below.</EmptyState>}
          />
          <Pager nextCursor={nextCursor} />
        </Section>
        <Section title="Create a key">
          <NewKeyFields operator={operator} flash={flash} />
        </Section>
      </>
    );
  },
);

function Revoke({ apiKey: { id, name, scopes } }: { apiKey: ApiKey }) {
  return (
    <Action
      operation={keyOperations.revokeApiKey}
      label="Revoke"
      name={name}
      title={
        <>
          Revoke “<bdi>{name}</bdi>”?
        </>
      }
      submit="Revoke the key"
      params={{ keyId: id }}
      isDanger
    >
      <p>
        Programs with this key get 401 from the next request on. They lose {scopes.join(", ")}. This cannot be undone:
        create another key to let them in again.
      </p>
    </Action>
  );
}
