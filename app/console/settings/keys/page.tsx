import { isKeyActive, listKeys } from "@/lib/auth/api-keys/keys";
import { keyOperations } from "@/lib/auth/api-keys/operations";
import { type ApiKey, KeysQuery } from "@/lib/auth/api-keys/schema";
import type { Flash } from "@/lib/platform/http/pages/flash";
import { Scope } from "@/lib/principal";
import { Field } from "../../../(web)/components/field";
import { Action } from "../../components/action";
import { Badge, type Tone } from "../../components/cells";
import { FieldError, SelectField } from "../../components/fields";
import { Filters, InputFilter } from "../../components/filters";
import { PageHead, Section } from "../../components/headings";
import { OperationForm } from "../../components/operation-form";
import { ShownSecret } from "../../components/shown-secret";
import { EmptyState } from "../../components/states";
import { type Column, List } from "../../components/table";
import { Ago } from "../../components/time";
import { consolePage } from "../../frame/console-page";

export const metadata = { title: "API keys" };

const TONES: Record<ApiKey["status"], Tone> = { active: "good", expired: "warning", revoked: "neutral" };

const COLUMNS: Column<ApiKey>[] = [
  { head: "Name", isRowHead: true, cell: ({ name }) => <bdi>{name}</bdi> },
  { head: "Status", cell: ({ status }) => <Badge tone={TONES[status]}>{status}</Badge> },
  { head: "Key", isTight: true, cell: ({ prefix }) => <code>{prefix}…</code> },
  { head: "Scopes", cell: ({ scopes }) => scopes.join(", ") },
  { head: "Products", cell: ({ products }) => products.join(", ") || "All" },
  { head: "Networks", cell: ({ networks }) => networks.join(", ") || "All" },
  { head: "Last used", isTight: true, cell: ({ lastUsedAt }) => <Ago at={lastUsedAt} /> },
  { head: "Expires", isTight: true, cell: ({ expiresAt }) => (expiresAt ? <Ago at={expiresAt} /> : "Never") },
  { head: "Actions", align: "end", cell: (key) => key.status !== "revoked" && <Revoke apiKey={key} /> },
];

export default consolePage(
  {
    role: "admin",
    query: KeysQuery,
    done: { key_created: "The key was created.", key_revoked: "The key was revoked. Requests with it get 401." },
    ownForms: [keyOperations.createApiKey],
  },
  async ({ ctx, query, flash }) => {
    const { keys, nextCursor } = await listKeys(ctx, query);
    return (
      <>
        <PageHead
          title="API keys"
          lead="Programs call the admin API with a key: CI that publishes releases, or a script of your own."
          actions={
            ctx.config.INSTALL_PAGE === "on" && (
              <a className="button quiet" href="/install">
                Get the command line
              </a>
            )
          }
        />
        <ShownSecret kind="key" title="The new key" isValid={(key) => isKeyActive(ctx, key)} />
        <List
          title="Keys"
          caption="API keys, the newest first"
          columns={COLUMNS}
          rows={keys}
          empty={
            query.prefix === undefined ? (
              <EmptyState title="There are no keys yet">Create the first one below.</EmptyState>
            ) : (
              "No key begins with this text"
            )
          }
          nextCursor={nextCursor}
        >
          <Filters>
            <InputFilter name="prefix" label="Key" value={query.prefix} hint="hp_4fKq" />
          </Filters>
        </List>
        <Section title="Create a key">
          <NewKeyFields flash={flash} />
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

const LIFETIMES = { 30: "30 days", 90: "90 days", 365: "1 year", never: "Does not expire" };

/** The form that creates a key. Without a recent sign-in, the page that asks for one comes first. */
export function NewKeyFields({ flash }: { flash: Flash | null }) {
  return (
    <OperationForm operation={keyOperations.createApiKey} confirmTo="create a key" flash={flash} className="form">
      <Field name="name" label="Name" hint="What the key is for, such as “Release pipeline”." required maxLength={80} />
      <fieldset>
        <legend>Scopes</legend>
        <p className="hint">A scope to write includes the one to read.</p>
        <FieldError name="scopes" />
        <div className="checks">
          {Scope.options.map((scope) => (
            <label key={scope} className="check">
              <input
                type="checkbox"
                name={`scopes.${scope}`}
                value="on"
                defaultChecked={flash?.values[`scopes.${scope}`] === "on"}
              />
              <code>{scope}</code>
            </label>
          ))}
        </div>
      </fieldset>
      <SelectField name="lifetime" label="Expires after" options={LIFETIMES} defaultValue="90" />
      <Field
        name="products"
        label="Products (optional)"
        hint="Only their releases may be read and changed, such as core, ops. Empty: all. The scopes must be for releases."
        autoComplete="off"
        spellCheck={false}
      />
      <Field
        name="networks"
        label="Networks (optional)"
        hint="Only these may use the key, such as 203.0.113.0/24, 2001:db8::/32. Empty: all."
        autoComplete="off"
        spellCheck={false}
      />
      <button type="submit">Create key</button>
    </OperationForm>
  );
}
