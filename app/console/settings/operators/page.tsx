import { operatorOperations } from "@/lib/accounts/admin/operations";
import { type ListedOperator, listOperators } from "@/lib/accounts/admin/operators";
import { PageQuery } from "@/lib/platform/lists";
import { Badge } from "../../components/badge";
import { PageHead, Section } from "../../components/headings";
import { Pager } from "../../components/pager";
import { EmptyState } from "../../components/states";
import { type Column, Table } from "../../components/table";
import { Ago } from "../../components/time";
import { consolePage } from "../../frame/console-page";
import { hasRole } from "../../frame/operator";
import { AddOperator } from "./add-operator";
import { ChangeRole } from "./change-role";

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
        <Section title="Accounts with a role">
          <Table
            caption="Accounts with a role"
            columns={hasRole(operator, "admin") ? [...COLUMNS, actions] : COLUMNS}
            rows={operators}
            rowKey={({ id }) => id}
            empty={<EmptyState title="No account has a role" />}
          />
          <Pager nextCursor={nextCursor} />
        </Section>
        {hasRole(operator, "admin") && <AddOperator operator={operator} flash={flash} />}
      </>
    );
  },
);
