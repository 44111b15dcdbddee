import { randomUUID } from "node:crypto";
import type { AccountDetails } from "@/lib/accounts/admin/schema";
import type { Context } from "@/lib/context";
import { configuredEntitlements, listGrants, MAX_SUPPORT_DAYS } from "@/lib/subscriptions/grants/grants";
import { grantOperations } from "@/lib/subscriptions/grants/operations";
import type { Grant } from "@/lib/subscriptions/grants/schema";
import { Field } from "../../../(web)/components/field";
import { Badge } from "../../components/cells";
import { SelectField } from "../../components/fields";
import { type Column, List } from "../../components/table";
import { Ago, ExactTime } from "../../components/time";
import { AccountAction } from "./account-action";

const MAX_SHOWN = 200;

type Props = { ctx: Context; account: AccountDetails; isAdmin: boolean };

/** What operators granted to the account, and the form that grants more. */
export async function Grants({ ctx, account, isAdmin }: Props) {
  const { grants } = await listGrants(ctx, { account: account.id, limit: MAX_SHOWN });
  return (
    <List
      title="Grants"
      actions={
        <NewGrant
          account={account}
          entitlements={configuredEntitlements(ctx.config)}
          longest={isAdmin ? null : MAX_SUPPORT_DAYS}
        />
      }
      caption="Granted entitlements, the newest first"
      columns={columnsFor(account)}
      rows={grants}
      empty="Nothing was granted to this account"
    />
  );
}

const columnsFor = (account: AccountDetails): Column<Grant>[] => [
  {
    head: "Entitlement",
    isRowHead: true,
    cell: ({ id, entitlementId, isActive }) => (
      <>
        <a href={`/console/billing/purchases/${id}`}>{entitlementId}</a>{" "}
        <Badge tone={isActive ? "good" : "neutral"}>{isActive ? "active" : "ended"}</Badge>
      </>
    ),
  },
  { head: "Ends", isTight: true, cell: ({ endsAt }) => (endsAt ? <ExactTime at={endsAt} /> : "Never") },
  { head: "Granted", cell: ({ granted }) => <Who {...granted} /> },
  { head: "Ended early", cell: ({ ended }) => ended && <Who {...ended} /> },
  { head: "Actions", align: "end", cell: (grant) => grant.isActive && <End account={account} grant={grant} /> },
];

function Who({ actor, name, at, reason }: Grant["granted"]) {
  return (
    <>
      <Ago at={at} /> by <bdi className="ids">{name ?? actor}</bdi>
      {reason && <p className="cell-detail">{reason}</p>}
    </>
  );
}

const TERMS = { 7: "7 days", 14: "14 days", 30: "30 days", 90: "90 days", 365: "1 year" };

type NewGrantProps = Pick<Props, "account"> & { entitlements: readonly string[]; longest: number | null };

/** `key` makes a form that is sent twice one grant. */
function NewGrant({ account, entitlements, longest }: NewGrantProps) {
  const terms = Object.entries(TERMS).filter(([days]) => longest === null || Number(days) <= longest);
  return (
    <AccountAction
      operation={grantOperations.grantEntitlement}
      account={account}
      label="Grant an entitlement"
      title="Grant an entitlement?"
      submit="Grant"
      params={{ key: randomUUID() }}
    >
      <p>
        The customer has the entitlement at once, without paying. Beside a paid purchase, the later end counts.
        {longest !== null && ` Support may grant ${longest} days; ask an admin for more.`}
      </p>
      <Field
        name="entitlementId"
        label="Entitlement"
        hint={entitlements.length === 0 ? "Its id, as apps check it, such as pro." : undefined}
        list="entitlements"
        required
        maxLength={255}
        autoComplete="off"
        autoCapitalize="none"
        spellCheck={false}
      />
      <datalist id="entitlements">
        {entitlements.map((id) => (
          <option key={id} value={id} />
        ))}
      </datalist>
      <SelectField
        name="term"
        label="For"
        options={{
          ...Object.fromEntries(terms),
          until: "until a time",
          ...(longest === null && { lifetime: "without an end" }),
        }}
        defaultValue="30"
      />
      <Field name="until" label="Until (optional)" hint="In UTC, with “until a time”." type="datetime-local" />
    </AccountAction>
  );
}

function End({ account, grant: { id, entitlementId } }: { account: AccountDetails; grant: Grant }) {
  return (
    <AccountAction
      operation={grantOperations.endGrant}
      account={account}
      label="End"
      name={`the grant of ${entitlementId}`}
      title={
        <>
          End the grant of <bdi>{entitlementId}</bdi>?
        </>
      }
      submit="End the grant"
      params={{ id }}
      isDanger
    >
      <p>
        The customer loses the entitlement at once, unless a purchase or another grant gives it, and is notified. It can
        be granted again.
      </p>
    </AccountAction>
  );
}
