import { AccountHeading } from "../account-heading";
import { requireRecentVisitor } from "../require-visitor";

export const metadata = { title: "Export data", robots: { index: false } };

export default async function Page() {
  await requireRecentVisitor("/account/export");
  return (
    <div className="narrow">
      <AccountHeading title="Export data" />
      <p>The export is one JSON file with everything that we store about you. Keep it where nobody else can read it.</p>
      <p>
        <a className="button" href="/api/auth/account/export">
          Download
        </a>
      </p>
      <p className="aside">
        <a href="/account">Back to your account</a>
      </p>
    </div>
  );
}
