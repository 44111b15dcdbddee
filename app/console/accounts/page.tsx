import { type AccountSummary, AccountsQuery } from "@/lib/accounts/admin/schema";
import { searchAccounts } from "@/lib/accounts/admin/search-accounts";
import { ButtonLink } from "../components/action";
import { Dash } from "../components/cells";
import { Filters, FilterTime, SelectFilter, TimeFilter } from "../components/filters";
import { PageHead } from "../components/headings";
import { EmptyState, NoneYet } from "../components/states";
import { type Column, List } from "../components/table";
import { Ago } from "../components/time";
import { consolePage } from "../frame/console-page";
import { hasRole } from "../frame/operator";
import { AccountBadges } from "./account-badges";
import { SearchField } from "./search-field";

export const metadata = { title: "Accounts" };

const COLUMNS: Column<AccountSummary>[] = [
  { head: "Email", isRowHead: true, cell: ({ id, email }) => <a href={`/console/accounts/${id}`}>{email}</a> },
  { head: "Name", cell: ({ name }) => (name === null ? <Dash /> : <bdi>{name}</bdi>) },
  { head: "State", cell: (account) => <AccountBadges account={account} /> },
  { head: "Created", isTight: true, cell: ({ createdAt }) => <Ago at={createdAt} /> },
];

export default consolePage(
  {
    query: AccountsQuery.extend({ createdFrom: FilterTime.optional(), seenFrom: FilterTime.optional() }),
    done: { deleted: "The account and all its data are deleted. Its owner gets an email." },
  },
  async ({ ctx, operator, query }) => {
    const { accounts, nextCursor } = await searchAccounts(ctx, query);
    const { role, state, createdFrom, seenFrom } = query;
    const isFiltered = Boolean(query.query ?? role ?? state ?? createdFrom ?? seenFrom);
    return (
      <>
        <PageHead
          title="Accounts"
          lead="Search by email, name, account ID, or App User ID of the billing provider."
          actions={hasRole(operator, "admin") && <ButtonLink href="/console/accounts/new">Add a customer</ButtonLink>}
        />
        <Filters>
          <SearchField value={query.query} />
          <SelectFilter
            name="role"
            label="Role"
            value={role}
            options={{ user: "User", support: "Support", admin: "Admin" }}
          />
          <SelectFilter
            name="state"
            label="State"
            value={state}
            options={{
              active: "Active",
              disabled: "Disabled",
              unverified: "Email not verified",
              consent_withdrawn: "Consent withdrawn",
            }}
          />
          {createdFrom && <TimeFilter name="createdFrom" label="Created from" value={createdFrom} />}
          {seenFrom && <TimeFilter name="seenFrom" label="Active from" value={seenFrom} />}
        </Filters>
        <List
          title={isFiltered ? "Found accounts" : "Newest accounts"}
          caption={query.query ? "Accounts, in alphabetical order" : "Accounts, the newest first"}
          columns={COLUMNS}
          rows={accounts}
          empty={<NoAccounts isFiltered={isFiltered} hasOthers={nextCursor !== null} />}
          nextCursor={nextCursor}
        />
      </>
    );
  },
);

function NoAccounts({ isFiltered, hasOthers }: { isFiltered: boolean; hasOthers: boolean }) {
  if (hasOthers) return <NoneYet of="accounts" />;
  if (!isFiltered) return <EmptyState title="There are no accounts yet">People register in your apps.</EmptyState>;
  return (
    <EmptyState title="No account matches">
      Search by how an email or a name begins, or by a whole ID. Deleted accounts are not found.
    </EmptyState>
  );
}
