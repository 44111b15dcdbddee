import { headers } from "next/headers";
import { readShownCodes } from "@/lib/auth/second-factor/shown-codes";
import { pageContext } from "@/lib/http/pages/visitor";
import { Form } from "../../../components/form";
import { flashOf, type PageProps, queryOf } from "../../../components/page-props";
import { AccountHeading } from "../../account-heading";
import { requireRecentVisitor, requireVisitor } from "../../require-visitor";

export const metadata = { title: "Recovery codes", robots: { index: false } };

const PAGE = "/account/factors/recovery-codes";

export default async function Page(props: PageProps) {
  const { account } = await requireVisitor(PAGE);
  const { formErrors } = await queryOf(props);
  const codes = await readShownCodes(pageContext(), account.id, await headers());
  if (!codes) await requireRecentVisitor(PAGE);
  return (
    <div className="narrow">
      <AccountHeading title="Recovery codes" />
      {codes ? (
        <>
          <p>
            Keep these codes where you keep your passwords, or print them. Each one stands in for your authenticator app
            once. They will not be shown again.
          </p>
          <ol className="codes">
            {codes.map((code) => (
              <li key={code}>
                <code>{code}</code>
              </li>
            ))}
          </ol>
          <Form action="/forms/account/factors/kept">
            <button type="submit">I have kept them</button>
          </Form>
        </>
      ) : (
        <>
          <p>You get ten new codes. The old ones stop working.</p>
          <Form action="/forms/account/factors/recovery-codes" flash={await flashOf(formErrors)}>
            <button type="submit">New recovery codes</button>
          </Form>
        </>
      )}
    </div>
  );
}
