type Props = { accountId: string | null; accountEmail: string | null };

/** The account in a row of a list, by its email, or by its id if it was deleted. */
export function AccountLink({ accountId, accountEmail }: Props) {
  return accountId && <a href={`/console/accounts/${accountId}`}>{accountEmail ?? accountId}</a>;
}
