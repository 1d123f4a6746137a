import type { MessageLanguage } from '#messages';

const UZ = {
  welcome: 'Assalomu alaykum! Bu bot {merchant} cheklarini yuboradi.',
  offer: 'Keyingi cheklarni shu yerda olish uchun telefon raqamingizni tasdiqlang. To‘xtatish: /stop',
  share: 'Raqamimni yuborish',
  proven: 'Raqam tasdiqlandi. Shu raqamga aytilgan cheklar endi shu yerga keladi. To‘xtatish: /stop',
  foreign: 'Faqat o‘z raqamingizni tasdiqlash mumkin: tugmani bosing.',
  noPhone: 'Bu O‘zbekiston mobil raqami emas.',
  notYet: 'Chek hali ro‘yxatga olinmagan. Birozdan so‘ng havolani qayta oching.',
  stopped: 'To‘xtatildi: bu yerga boshqa chek kelmaydi. Qaytadan boshlash: /start',
  full: 'Bot hozircha yangi raqam qabul qila olmaydi. Har bir chek havolasi orqali keladi.',
};

/** What a merchant's bot says; `{merchant}` is the name. */
export const BOT_WORDS: Readonly<Record<MessageLanguage, typeof UZ>> = {
  uz: UZ,
  ru: {
    welcome: 'Здравствуйте! Этот бот присылает чеки продавца {merchant}.',
    offer: 'Чтобы получать здесь следующие чеки, подтвердите свой номер телефона. Отключить: /stop',
    share: 'Отправить мой номер',
    proven: 'Номер подтверждён. Чеки на этот номер теперь приходят сюда. Отключить: /stop',
    foreign: 'Можно подтвердить только свой номер: нажмите кнопку.',
    noPhone: 'Это не мобильный номер Узбекистана.',
    notYet: 'Чек ещё не зарегистрирован. Откройте ссылку немного позже.',
    stopped: 'Отключено: чеки сюда больше не приходят. Включить снова: /start',
    full: 'Бот пока не может принять новый номер. Каждый чек приходит по своей ссылке.',
  },
  en: {
    welcome: 'Hello! This bot sends receipts of {merchant}.',
    offer: 'To get further receipts here, confirm your phone number. To stop: /stop',
    share: 'Send my number',
    proven: 'The number is confirmed. Receipts for it now come here. To stop: /stop',
    foreign: 'Only your own number can be confirmed: press the button.',
    noPhone: 'This is not a mobile number of Uzbekistan.',
    notYet: 'The receipt is not registered yet. Open the link again a little later.',
    stopped: 'Stopped: no more receipts come here. To begin again: /start',
    full: 'The bot can take no further number for now. Each receipt comes by its own link.',
  },
};

export function botLanguage(code: string | null): MessageLanguage {
  const language = code?.slice(0, 2).toLowerCase();
  return language === 'ru' || language === 'en' ? language : 'uz';
}
