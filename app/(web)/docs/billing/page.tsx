import { GroupPage } from "../reference/group-page";

export const metadata = { title: "API for the billing provider" };
export const isStatic = true;

export default function Page() {
  return <GroupPage slug="billing" />;
}
