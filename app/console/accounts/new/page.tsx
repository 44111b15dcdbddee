import { accountOperations } from "@/lib/accounts/admin/operations";
import { LOCALE_NAMES } from "@/lib/platform/locale";
import { Field } from "../../../(web)/components/field";
import { SelectField } from "../../components/fields";
import { PageHead } from "../../components/headings";
import { OperationForm } from "../../components/operation-form";
import { consolePage } from "../../frame/console-page";

export const metadata = { title: "Add a customer" };

export default consolePage({ role: "admin", ownForms: [accountOperations.createAccount] }, async ({ flash }) => (
  <>
    <PageHead
      title="Add a customer"
      parent={{ href: "/console/accounts", label: "Accounts" }}
      lead="Creates an account without a password. The link of an invitation sets one, or a passkey."
    />
    <OperationForm
      operation={accountOperations.createAccount}
      confirmTo="add a customer"
      flash={flash}
      className="form"
    >
      <Field name="email" label="Email" type="email" required autoComplete="off" />
      <Field name="name" label="Name (optional)" maxLength={80} autoComplete="off" />
      <SelectField name="locale" label="Language of emails" options={LOCALE_NAMES} />
      <p>
        <label className="check">
          <input type="checkbox" name="invite" value="on" defaultChecked={!flash || flash.values.invite === "on"} />
          Send an invitation, which is valid for 7 days
        </label>
      </p>
      <button type="submit">Add the customer</button>
    </OperationForm>
  </>
));
