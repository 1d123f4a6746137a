/** The person's own account, users, and what needs a second person. */
export const accessWords = {
  account: {
    email: 'E-mail',
    until: 'Logged in until',
    sessions: 'Where you are logged in',
    current: 'This one',
    endOthers: 'End all others',
  },
  access: {
    roles: 'Roles',
    users: 'Users',
    invite: 'Invite a person',
    invitations: 'Open invitations',
    approvals: 'Approvals',
    expires: 'Until',
    link: 'The link of the invitation. Shown once: give it to the person.',
    lastLogin: 'Last login',
    changeRoles: 'Change the roles',
    removeUser: 'Remove from the merchant',
    withdraw: 'Withdraw',
    approve: 'Approve',
    refuse: 'Refuse',
    by: 'Asked by',
    request: 'What is asked',
    role: {
      owner: 'Owner: everything',
      operator: 'Operator: unknown receipts, registers',
      accountant: 'Accountant: reports, refunds',
      support: 'Support: reads',
      developer: 'Developer: clients, webhooks',
    },
  },
};

export type AccessWords = typeof accessWords;
