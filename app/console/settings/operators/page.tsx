import { operatorOperations } from "@/lib/accounts/admin/operations";
import { type ListedOperator, listOperators } from "@/lib/accounts/admin/operators";
import { PageQuery } from "@/lib/platform/lists";
import { Badge } from "../../components/cells";
import { PageHead } from "../../components/headings";
import { type Column, List } from "../../components/table";
import { Ago } from "../../components/time";
import { consolePage } from "../../frame/console-page";
import { hasRole } from "../../frame/operator";
import { AddOperator, ChangeRole } from "./role-forms";

export const metadata = { title: "Operators" };

const COLUMNS: Column<ListedOperator>[] = [
  { head: "Email", isRowHead: true, cell: ({ id, email }) => <a href={`/console/accounts/${id}`}>{email}</a> },
  { head: "Name", cell: ({ name }) => name ?? "–" },
  {
    head: "Role",
    cell: ({ role, disabledAt }) => (
      <>
        <Badge tone={role === "admin" ? "active" : "neutral"}>{role === "admin" ? "Admin" : "Support"}</Badge>{" "}
        {disabledAt && <Badge tone="bad">Disabled</Badge>}
      </>
    ),
  },
  {
    head: "Second factor",
    cell: ({ hasSecondFactor }) => (hasSecondFactor ? "Yes" : <Badge tone="warning">None</Badge>),
  },
  { head: "Last used", isTight: true, cell: ({ lastSeenAt }) => <Ago at={lastSeenAt} /> },
];

export default consolePage(
  {
    query: PageQuery,
    done: {
      role_granted: "The role was changed. Live sessions have it at once.",
      role_removed: "The role was removed. The account can no longer open the console.",
    },
    ownForms: [operatorOperations.grantRole],
  },
  async ({ ctx, operator, query, flash }) => {
    const { operators, nextCursor } = await listOperators(ctx, query);
    const ownId = operator.account.id;
    const actions: Column<ListedOperator> = {
      head: "Actions",
      align: "end",
      cell: (listed) => <ChangeRole listed={listed} isSelf={listed.id === ownId} />,
    };
    return (
      <>
        <PageHead
          title="Operators"
          lead="Accounts that may open this console. Admins may do everything. Support can view everything except API keys, webhook secrets and the audit trail, and can end sessions."
        />
        <List
          title="Accounts with a role"
          caption="Accounts with a role"
          columns={hasRole(operator, "admin") ? [...COLUMNS, actions] : COLUMNS}
          rows={operators}
          empty="No account has a role"
          nextCursor={nextCursor}
        />
        {hasRole(operator, "admin") && <AddOperator flash={flash} />}
      </>
    );
  },
);
