import { Form } from "../../../components/form";
import { flashOf, type PageProps, queryOf } from "../../../components/page-props";
import { AccountHeading } from "../../account-heading";
import { requireRecentVisitor } from "../../require-visitor";

export const metadata = { title: "Remove the authenticator app", robots: { index: false } };

const PAGE = "/account/factors/remove";

export default async function Page(props: PageProps) {
  await requireRecentVisitor(PAGE);
  const { formErrors } = await queryOf(props);
  return (
    <div className="narrow">
      <AccountHeading title="Remove the authenticator app" />
      <p>Signing in will no longer need a code. Your recovery codes will stop working.</p>
      <Form action="/forms/account/factors/remove" flash={await flashOf(formErrors)}>
        <button type="submit" className="danger">
          Remove authenticator app
        </button>
      </Form>
      <p className="aside">
        <a href="/account">Cancel</a>
      </p>
    </div>
  );
}
