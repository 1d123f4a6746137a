import type { AccessWords } from '../en/access.js';

export const accessWords: AccessWords = {
  account: {
    email: 'El. pochta',
    until: 'Kirish amal qiladi',
    sessions: 'Qayerda kirilgan',
    current: 'Shu seans',
    endOthers: 'Boshqalarini tugatish',
  },
  access: {
    roles: 'Rollar',
    users: 'Foydalanuvchilar',
    invite: 'Taklif qilish',
    invitations: 'Ochiq takliflar',
    approvals: 'Tasdiqlar',
    expires: 'Gacha',
    link: 'Taklif havolasi. Bir marta ko‘rsatiladi: uni odamga bering.',
    lastLogin: 'Oxirgi kirish',
    changeRoles: 'Rollarni o‘zgartirish',
    removeUser: 'Tashkilotdan chiqarish',
    withdraw: 'Qaytarib olish',
    approve: 'Tasdiqlash',
    refuse: 'Rad etish',
    by: 'So‘ragan',
    request: 'Nima so‘ralgan',
    role: {
      owner: 'Egasi: hammasi',
      operator: 'Operator: noma’lum cheklar, kassalar',
      accountant: 'Hisobchi: hisobotlar, qaytarishlar',
      support: 'Yordam: o‘qish',
      developer: 'Dasturchi: mijozlar, vebhuklar',
    },
  },
};
